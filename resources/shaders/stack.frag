// A plane of the stack with its border; blended back to front by the caller.
uniform sampler2D uImageA;
uniform sampler2DArray uStackA;
uniform int uLayerA;
uniform float uOpacity;
uniform vec4 uBorder;
in vec2 vUv;
out vec4 oColour;

void main()
{
    vec4 value = IS_LAYERED_A == 0 ? texture(uImageA, vUv) : texture(uStackA, vec3(vUv, uLayerA));
    vec3 colour = shown(value, KIND_A);
    vec2 edge = min(vUv, 1.0 - vUv) / max(fwidth(vUv), vec2(1e-6));
    bool isBorder = min(edge.x, edge.y) < 1.5;
    oColour = isBorder ? uBorder : vec4(colour, uOpacity);
}
