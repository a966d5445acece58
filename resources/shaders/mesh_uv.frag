#version 330 core
uniform vec4 uColour;
in vec3 vCorner;
out vec4 oColour;

void main()
{
    vec3 width = max(fwidth(vCorner), vec3(1e-6));
    vec3 edge = smoothstep(width * 0.2, width * 1.1, vCorner);
    float line = 1.0 - min(min(edge.x, edge.y), edge.z);
    oColour = vec4(uColour.rgb, uColour.a * mix(0.12, 1.0, line));
}
