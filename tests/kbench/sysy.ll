; As the compiler of a student writes it: no attributes, no layout, no header.
@table = global [4 x i32] [i32 4, i32 3, i32 2, i32 1]
declare i32 @getint()
declare void @putint(i32)
declare void @putch(i32)
declare void @putarray(i32, i32*)

define i32 @twice(i32 %x)
{
entry:
  %slot = alloca i32
  store i32 %x, i32* %slot
  %a = load i32, i32* %slot
  %b = add i32 %a, %a
  ret i32 %b
}

define i32 @main() {
entry:
  %n = call i32 @getint()
  %t = call i32 @twice(i32 %n)
  call void @putint(i32 %t)
  call void @putch(i32 10)
  %p = getelementptr [4 x i32], [4 x i32]* @table, i32 0, i32 0
  call void @putarray(i32 4, i32* %p)
  ret i32 %t
}
