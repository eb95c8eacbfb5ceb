#include <stdio.h>
#include <string.h>

static void reverse(char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size / 2; i++) {
		char byte = text[i];

		text[i] = text[size - 1 - i];
		text[size - 1 - i] = byte;
	}
}

int main(void)
{
	char line[100] = "abc";
	const char *semicolon = "a ; is no comment, nor is # or } here";

	strcat(line, " def");
	reverse(line);
	puts(line);
	printf("[%5d|%-5d|%05d|%x|%c|%s|%ld|%u|%%]\n", 42, -42, 42, 0xbeef, '!',
	       semicolon, -1234567890123L, 4000000000U);
	printf("%d %d %d\n", strcmp("a", "b") < 0, !strcmp("x", "x"),
	       strchr("hello", 'l') == strstr("hello", "l"));
	for (const char *at = "done\n"; *at; at++)
		putchar(*at);
	return (int)strlen(line);
}
