// Pictures and their differences. OPERATION: 0 picture A, 1 absolute difference, 2 signed difference.
uniform sampler2D uImageA;
uniform sampler2DArray uStackA;
uniform sampler2D uImageB;
uniform sampler2DArray uStackB;
uniform int uLayerA;
uniform int uLayerB;
uniform float uGain;
uniform float uSignedRow;
in vec2 vUv;
out vec4 oColour;

void main()
{
    vec4 a = IS_LAYERED_A == 0 ? texture(uImageA, vUv) : texture(uStackA, vec3(vUv, uLayerA));
    if (OPERATION == 0) {
        oColour = vec4(shown(a, KIND_A), KIND_A == 2 ? 1.0 : clamp(a.a, 0.0, 1.0));
        return;
    }
    vec4 b = IS_LAYERED_B == 0 ? texture(uImageB, vUv) : texture(uStackB, vec3(vUv, uLayerB));
    const bool isScalar = KIND_A == 2 && KIND_B == 2;
    vec3 weights = vec3(0.2126, 0.7152, 0.0722);
    vec3 difference = isScalar ? vec3(a.r - b.r) * uExposure / (uRange.y - uRange.x)
                               : shown(a, KIND_A) - shown(b, KIND_B);
    if (OPERATION == 2)
        oColour = vec4(mapped(0.5 + 0.5 * uGain * dot(difference, weights), uSignedRow), 1.0);
    else if (isScalar)
        oColour = vec4(mapped(uGain * abs(difference.r), uMapRow), 1.0);
    else
        oColour = vec4(clamp(uGain * abs(difference), 0.0, 1.0), 1.0);
}
