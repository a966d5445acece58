#version 330 core
// Pictures and their differences. Kinds: 0 colour in sRGB, 1 linear colour, 2 one number per pixel.
uniform sampler2D uImageA;
uniform sampler2DArray uStackA;
uniform sampler2D uImageB;
uniform sampler2DArray uStackB;
uniform sampler2D uMaps;   // one colour map per row
uniform int uLayerA;       // -1 reads uImageA
uniform int uLayerB;
uniform int uKindA;
uniform int uKindB;
uniform int uOperation;    // 0 picture A, 1 absolute difference, 2 signed difference
uniform float uExposure;   // factor on linear light
uniform float uGain;
uniform vec2 uRange;       // numbers at both ends of the colour map
uniform float uMapRow;     // row of the colour map for single numbers
uniform float uSignedRow;
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

vec3 mapped(float t, float row)
{
    if (isnan(t))
        return vec3(1.0, 0.0, 1.0);
    float u = clamp(t, 0.0, 1.0) * (255.0 / 256.0) + 0.5 / 256.0;
    return texture(uMaps, vec2(u, row)).rgb;
}

vec3 shown(vec4 value, int kind)
{
    if (kind == 2)
        return mapped((value.r * uExposure - uRange.x) / (uRange.y - uRange.x), uMapRow);
    if (kind == 1)
        return encodeSrgb(value.rgb * uExposure);
    return uExposure == 1.0 ? value.rgb : encodeSrgb(decodeSrgb(value.rgb) * uExposure);
}

void main()
{
    vec4 a = uLayerA < 0 ? texture(uImageA, vUv) : texture(uStackA, vec3(vUv, uLayerA));
    if (uOperation == 0) {
        oColour = vec4(shown(a, uKindA), uKindA == 2 ? 1.0 : clamp(a.a, 0.0, 1.0));
        return;
    }
    vec4 b = uLayerB < 0 ? texture(uImageB, vUv) : texture(uStackB, vec3(vUv, uLayerB));
    bool isScalar = uKindA == 2 && uKindB == 2;
    vec3 weights = vec3(0.2126, 0.7152, 0.0722);
    vec3 difference = isScalar ? vec3(a.r - b.r) * uExposure / (uRange.y - uRange.x)
                               : shown(a, uKindA) - shown(b, uKindB);
    if (uOperation == 2)
        oColour = vec4(mapped(0.5 + 0.5 * uGain * dot(difference, weights), uSignedRow), 1.0);
    else if (isScalar)
        oColour = vec4(mapped(uGain * abs(difference.r), uMapRow), 1.0);
    else
        oColour = vec4(clamp(uGain * abs(difference), 0.0, 1.0), 1.0);
}
