/* The vocabularies that the program ships, and what is made from them: see README.md beside this file. */
	.section .rodata
	.macro vocabulary name, file
	.balign 64
	.globl \name
	.hidden \name
	.type \name, %object
\name:
	.incbin "\file"
\name\()_end:
	.size \name, . - \name
	.balign 8
	.globl \name\()_size
	.hidden \name\()_size
	.type \name\()_size, %object
\name\()_size:
	.8byte \name\()_end - \name
	.size \name\()_size, 8
	.endm

	vocabulary vocab_gpt2, "r50k_base.tiktoken"
	vocabulary vocab_cl100k, "cl100k_base.tiktoken"
	vocabulary vocab_o200k, "o200k_base.tiktoken"
	vocabulary cuts_gpt2, "r50k_base.cuts"
	vocabulary cuts_cl100k, "cl100k_base.cuts"
	vocabulary cuts_o200k, "o200k_base.cuts"
	vocabulary words_english, "words.txt"
	vocabulary words_gpt2, "r50k_base.words"
	vocabulary words_cl100k, "cl100k_base.words"
	vocabulary words_o200k, "o200k_base.words"

	.section .note.GNU-stack, "", %progbits
