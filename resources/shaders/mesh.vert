#version 330 core
// Corners of triangles, three in a row.
layout(location = 0) in vec3 aPosition;
layout(location = 1) in vec2 aUv;
layout(location = 2) in vec4 aColour;
layout(location = 3) in vec3 aNormal;
layout(location = 4) in float aGroup;
layout(location = 5) in vec4 aFar;
uniform mat4 uWorldToClip;
uniform mat4 uWorldToView;
uniform vec4 uSection; // normal and offset of what is cut away
out vec3 vView;
out vec3 vNormal;
out vec3 vWorldNormal;
out vec2 vUv;
out vec3 vColour;
out vec3 vFar;
out vec3 vCorner; // barycentric
flat out float vGroup;

void main()
{
    vec4 view = uWorldToView * vec4(aPosition, 1.0);
    vView = view.xyz;
    vNormal = mat3(uWorldToView) * aNormal;
    vWorldNormal = aNormal;
    vUv = aUv;
    vColour = aColour.rgb;
    vFar = aFar.rgb;
    int corner = gl_VertexID % 3;
    vCorner = vec3(corner == 0, corner == 1, corner == 2);
    vGroup = aGroup;
    gl_Position = uWorldToClip * vec4(aPosition, 1.0);
    gl_ClipDistance[0] = uSection.w - dot(uSection.xyz, aPosition);
}
