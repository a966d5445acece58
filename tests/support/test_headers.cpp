// The library of this file reads the headers that tests share, once.
