#version 330 core
// One plane of the stack: a rectangle around the axis at its own depth.
uniform mat4 uWorldToClip;
uniform vec3 uCentre;
uniform vec2 uHalfSize;
out vec2 vUv;

void main()
{
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    vUv = corner;
    vec2 offset = (corner * 2.0 - 1.0) * vec2(1.0, -1.0);
    gl_Position = uWorldToClip * vec4(uCentre + vec3(offset * uHalfSize, 0.0), 1.0);
}
