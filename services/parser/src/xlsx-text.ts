/** Decodes escapes such as `_x000D_`, which stand for characters that XML cannot contain, such as a carriage return. */
export function unescaped(text: string): string {
  return text.replaceAll(/_x([\da-f]{4})_/giu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
