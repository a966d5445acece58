// A triangle in one of the shadings; SHADING counts as the enumeration MeshShading does.
uniform sampler2D uTexture;
uniform bool uHasTexture;
uniform bool uTintsBackFaces;
uniform bool uTintsGroups;
uniform vec3 uBackFace;
uniform vec4 uWire; // alpha 0 for none
uniform bool uIsCoarse; // corners have moved away from their places in the texture
uniform vec2 uCells; // of the checker, along each side
in vec3 vView;
in vec3 vNormal;
in vec3 vWorldNormal;
in vec2 vUv;
in vec3 vColour;
in vec3 vFar; // mean of the texture around
in vec3 vCorner;
flat in float vGroup;
out vec4 oColour;

vec3 hueOf(float group)
{
    float hue = fract(group * 0.6180340 + 0.1) * 3.9; // red to blue: violet is for backs
    vec3 pure = clamp(abs(mod(hue + vec3(0.0, 4.0, 2.0), 6.0) - 3.0) - 1.0, 0.0, 1.0);
    return mix(vec3(0.92), pure, 0.55);
}

// A key light over the viewer's left shoulder and a weak one from the right.
float light(vec3 normal)
{
    float key = max(dot(normal, normalize(vec3(-0.4, 0.6, 0.8))), 0.0);
    float fill = max(dot(normal, normalize(vec3(0.8, -0.2, 0.5))), 0.0);
    return 0.24 + 0.66 * key + 0.18 * fill;
}

vec3 matcap(vec3 normal)
{
    float height = 0.5 + 0.5 * normal.y;
    vec3 clay = mix(vec3(0.16, 0.11, 0.16), vec3(0.90, 0.62, 0.45), smoothstep(0.05, 0.95, height));
    float facing = clamp(normal.z, 0.0, 1.0);
    vec3 rim = vec3(0.45, 0.55, 0.75) * pow(1.0 - facing, 3.0);
    float glint = pow(max(dot(normal, normalize(vec3(-0.45, 0.6, 0.7))), 0.0), 24.0);
    return clay * (0.45 + 0.55 * facing) + rim + 0.5 * glint;
}

vec3 checker(vec2 uv)
{
    vec2 cell = floor(uv * uCells);
    float odd = mod(cell.x + cell.y, 2.0);
    // Hue and brightness tell where on the texture a square lies, and which way is up.
    vec3 place = vec3(fract(uv.x), 1.0 - fract(uv.y), 0.35);
    return mix(mix(vec3(0.25), place, 0.35), mix(vec3(0.92), place, 0.35), odd);
}

void main()
{
    vec3 flatNormal = normalize(cross(dFdx(vView), dFdy(vView)));
    vec3 normal = vNormal;
#if SHADING == 1
    normal = flatNormal;
#endif
    if (dot(normal, normal) < 1e-6)
        normal = flatNormal;
    normal = normalize(normal);
    if (dot(normal, vView) > 0.0) // towards the viewer, whichever side is seen
        normal = -normal;
    vec3 colour = vec3(0.80, 0.81, 0.83);
    vec3 width = max(fwidth(vCorner), vec3(1e-6));
    float crowd = max(max(width.x, width.y), width.z); // pixels across a triangle, inverse
#if SHADING == 2
    // The picture's halves mix what lies side by side in it, but not on the mesh.
    float far = uIsCoarse ? 1.0 : smoothstep(0.25, 0.6, crowd);
    colour = (uHasTexture ? mix(texture(uTexture, vUv).rgb, vFar, far) : vec3(1.0)) * vColour;
#elif SHADING == 3
    colour = vColour;
#elif SHADING == 4
    colour = 0.5 + 0.5 * normalize(vWorldNormal + vec3(0.0, 0.0, 1e-9));
#elif SHADING == 5
    colour = matcap(normal);
#elif SHADING == 6
    colour = checker(vUv);
#endif
    bool isBack = !gl_FrontFacing && uTintsBackFaces;
    if (uTintsGroups)
        colour = mix(colour, colour * hueOf(vGroup) * 1.15, 0.9);
    if (isBack)
        colour = uBackFace;
#if SHADING == 0 || SHADING == 1 || SHADING == 6
    colour *= light(normal);
#else
    if (isBack)
        colour *= light(normal);
#endif
    if (uWire.a > 0.0) {
        vec3 edge = smoothstep(width * 0.2, width * 1.2, vCorner);
        float line = 1.0 - min(min(edge.x, edge.y), edge.z);
        colour = mix(colour, uWire.rgb, line * uWire.a * (1.0 - 0.9 * smoothstep(0.06, 0.6, crowd)));
    }
    oColour = vec4(colour, 1.0);
}
