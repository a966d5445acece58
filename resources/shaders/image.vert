#version 330 core
// One rectangle without vertex data: four corners of a triangle strip.
uniform vec4 uRect;  // left, top, right, bottom in clip coordinates
out vec2 vUv;

void main()
{
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    vUv = corner;
    gl_Position = vec4(mix(uRect.xy, uRect.zw, corner), 0.0, 1.0);
}
