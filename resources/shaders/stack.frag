#version 330 core
// A plane of the stack with its border; blended back to front by the caller.
uniform sampler2D uImageA;
uniform sampler2DArray uStackA;
uniform sampler2D uMaps;
uniform int uLayerA;
uniform int uKindA;
uniform float uExposure;
uniform float uOpacity;
uniform vec2 uRange;
uniform float uMapRow;
uniform vec4 uBorder;
in vec2 vUv;
out vec4 oColour;

vec3 encodeSrgb(vec3 c)
{
    c = clamp(c, 0.0, 1.0);
    return mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
}

vec3 decodeSrgb(vec3 c)
{
    return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c));
}

void main()
{
    vec4 value = uLayerA < 0 ? texture(uImageA, vUv) : texture(uStackA, vec3(vUv, uLayerA));
    vec3 colour;
    if (uKindA == 2) {
        float t = clamp((value.r * uExposure - uRange.x) / (uRange.y - uRange.x), 0.0, 1.0);
        colour = texture(uMaps, vec2(t * (255.0 / 256.0) + 0.5 / 256.0, uMapRow)).rgb;
    } else if (uKindA == 1) {
        colour = encodeSrgb(value.rgb * uExposure);
    } else {
        colour = uExposure == 1.0 ? value.rgb : encodeSrgb(decodeSrgb(value.rgb) * uExposure);
    }
    vec2 edge = min(vUv, 1.0 - vUv) / max(fwidth(vUv), vec2(1e-6));
    bool isBorder = min(edge.x, edge.y) < 1.5;
    oColour = isBorder ? uBorder : vec4(colour, uOpacity);
}
