#version 330 core
uniform vec4 uColour;
in vec3 vCorner;
out vec4 oColour;

void main()
{
    vec3 width = max(fwidth(vCorner), vec3(1e-6));
    vec3 edge = smoothstep(width * 0.2, width * 1.1, vCorner);
    float line = 1.0 - min(min(edge.x, edge.y), edge.z);
    float crowd = max(max(width.x, width.y), width.z); // pixels across a triangle, inverse
    line *= 1.0 - 0.9 * smoothstep(0.08, 0.6, crowd); // the picture is seen through the smallest
    oColour = vec4(uColour.rgb, uColour.a * mix(0.08, 1.0, line));
}
