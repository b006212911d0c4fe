# Entry of a program from `netloom portals cc` that is started by itself: says how it is started, and ends with status 2. The simulator never comes here.
	.text
	.hidden	netloom_alone
	.globl	netloom_alone
	.type	netloom_alone, @function
netloom_alone:
	movl	$1, %eax
	movl	$2, %edi
	leaq	.Lsaid(%rip), %rsi
	movl	$.Lsaid_end-.Lsaid, %edx
	syscall
	movl	$60, %eax
	movl	$2, %edi
	syscall
	.size	netloom_alone, .-netloom_alone
	.section	.rodata
.Lsaid:
	.ascii	"error: this program runs on a simulated machine\n"
	.ascii	"  help: netloom portals run -n 2 --fabric MACHINE.toml PROGRAM\n"
.Lsaid_end:
	.section	.note.GNU-stack, "", @progbits
