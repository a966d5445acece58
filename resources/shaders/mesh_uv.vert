#version 330 core
// The same corners where they lie on the texture.
layout(location = 1) in vec2 aUv;
uniform vec4 uWindow; // centre, and half sizes of the view in texture coordinates
out vec3 vCorner;

void main()
{
    int corner = gl_VertexID % 3;
    vCorner = vec3(corner == 0, corner == 1, corner == 2);
    gl_Position = vec4((aUv - uWindow.xy) / uWindow.zw * vec2(1.0, -1.0), 0.0, 1.0);
}
