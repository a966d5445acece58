#version 330 core
uniform vec4 uColour;
uniform float uDash; // pixels of a dash; 0 draws a whole line
in float vAlong;
out vec4 oColour;

void main()
{
    if (uDash > 0.0 && mod(vAlong, 2.0 * uDash) > uDash)
        discard;
    oColour = uColour;
}
