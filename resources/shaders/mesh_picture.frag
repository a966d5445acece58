#version 330 core
uniform sampler2D uTexture;
uniform bool uHasTexture;
uniform vec2 uCells;
in vec2 vUv;
out vec4 oColour;

void main()
{
    vec2 cell = floor(vUv * uCells);
    vec3 empty = mix(vec3(0.34), vec3(0.42), mod(cell.x + cell.y, 2.0));
    oColour = vec4(uHasTexture ? texture(uTexture, vUv).rgb : empty, 1.0);
}
