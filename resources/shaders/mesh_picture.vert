#version 330 core
// The square of the texture in the UV layout.
uniform vec4 uWindow;
out vec2 vUv;

void main()
{
    vUv = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    gl_Position = vec4((vUv - uWindow.xy) / uWindow.zw * vec2(1.0, -1.0), 0.0, 1.0);
}
