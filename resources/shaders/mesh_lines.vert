#version 330 core
// Edges as strips of constant width on the screen; one instance is one edge.
layout(location = 0) in vec3 aFrom;
layout(location = 1) in vec3 aTo;
uniform mat4 uWorldToClip;
uniform vec4 uSection;
uniform vec2 uViewport; // pixels
uniform float uWidth;   // pixels
out float vAlong;       // pixels from the edge's start

void main()
{
    vec4 from = uWorldToClip * vec4(aFrom, 1.0);
    vec4 to = uWorldToClip * vec4(aTo, 1.0);
    const float kNear = 1e-5; // the part behind the eye is left out
    if (from.w < kNear && to.w > kNear)
        from = mix(from, to, (kNear - from.w) / (to.w - from.w));
    if (to.w < kNear && from.w > kNear)
        to = mix(to, from, (kNear - to.w) / (from.w - to.w));
    vec2 along = (to.xy / to.w - from.xy / from.w) * uViewport * 0.5;
    float size = max(length(along), 1e-6);
    vec2 side = vec2(-along.y, along.x) / size * uWidth / uViewport;
    bool isEnd = (gl_VertexID & 1) == 1;
    vec4 place = isEnd ? to : from;
    place.xy += ((gl_VertexID & 2) == 0 ? side : -side) * place.w;
    place.z -= 4e-4 * place.w; // in front of the faces that meet there
    vAlong = isEnd ? size : 0.0;
    gl_Position = place;
    vec3 world = isEnd ? aTo : aFrom;
    gl_ClipDistance[0] = uSection.w - dot(uSection.xyz, world);
}
