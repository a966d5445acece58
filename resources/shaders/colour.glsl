// What pictures mean, shared by the fragment shaders. Kinds: 0 colour in sRGB, 1 linear colour, 2 one number per pixel.
// The kinds are constants of each program: what a picture does not need is not compiled (ShaderPrograms).
uniform sampler2D uMaps;   // one colour map per row
uniform float uExposure;   // factor on linear light
uniform vec2 uRange;       // numbers at both ends of the colour map
uniform float uMapRow;     // row of the colour map for single numbers

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

vec3 shown(vec4 value, const int kind)
{
    if (kind == 2)
        return mapped((value.r * uExposure - uRange.x) / (uRange.y - uRange.x), uMapRow);
    if (kind == 1)
        return encodeSrgb(value.rgb * uExposure);
    return IS_TONED == 0 ? value.rgb : encodeSrgb(decodeSrgb(value.rgb) * uExposure);
}
