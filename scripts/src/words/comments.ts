/**
 * A comment with the line of its first text, or a description in GraphQL with the line on which it begins. Lines of `//` or `#` that follow
 * each other are one comment.
 */
export interface Comment {
  line: number;
  text: string;
}

/** The range of a string, template or regular expression, in which `//` and `"` have no meaning. */
export interface Span {
  start: number;
  end: number;
}

/** Returns the comments of TypeScript, JavaScript or protos. */
export function slashComments(source: string, literals: readonly Span[]): Comment[] {
  const ends = new Map(literals.map(({ start, end }) => [start, end]));
  const found: (Comment & { isLine: boolean })[] = [];
  let line = 1;
  let isFirstOfLine = true;
  const skip = (from: number, to: number) => {
    line += source.slice(from, to).split('\n').length - 1;
    return to;
  };
  for (let at = 0; at < source.length; ) {
    const mark = source.slice(at, at + 2);
    const literalEnd = ends.get(at) ?? at;
    if (literalEnd > at) {
      at = skip(at, literalEnd);
      isFirstOfLine = false;
    } else if (mark === '//') {
      const end = endOf(source, '\n', at);
      const text = source.slice(at + 2, end).trim();
      const before = found.at(-1);
      const isNext = isFirstOfLine && before?.isLine && before.line + before.text.split('\n').length === line;
      if (isNext) before.text += `\n${text}`;
      else found.push({ line, text, isLine: isFirstOfLine });
      at = end;
    } else if (mark === '/*') {
      const end = endOf(source, '*/', at + 2);
      const text = source.slice(at + 2, end).replace(/^[\s*]+/u, '');
      const lineOfText = line + lineAt(source.slice(at, end - text.length), end) - 1;
      found.push({ line: lineOfText, text, isLine: false });
      at = skip(at, end + 2);
    } else {
      if (mark[0] === '\n') [line, isFirstOfLine] = [line + 1, true];
      else if (mark[0] !== ' ') isFirstOfLine = false;
      at += 1;
    }
  }
  return found.map(({ line: first, text }) => ({ line: first, text }));
}

/** Returns the comments of a proto, whose only literals are strings on one line. */
export function protoComments(source: string): Comment[] {
  const tokens = source.matchAll(/\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"/gu);
  const strings = [...tokens].filter(([token]) => token.startsWith('"'));
  return slashComments(
    source,
    strings.map(({ 0: token, index }) => ({ start: index, end: index + token.length })),
  );
}

/** Returns the comments and descriptions of a GraphQL schema. */
export function graphqlComments(source: string): Comment[] {
  const tokens = source.matchAll(/"""([^]*?)"""|"((?:[^"\\\n]|\\.)+)"|(?<=^\s*)#.*(?:\n\s*#.*)*/gmu);
  return [...tokens].map(({ 0: token, 1: block, 2: string, index }) => ({
    line: lineAt(source, index),
    text: (block ?? string ?? token.replaceAll(/^\s*#+ ?/gmu, '')).trim(),
  }));
}

/** Returns the comments of shell, YAML and Python that start a line. */
export function hashComments(source: string): Comment[] {
  const tokens = source.matchAll(/^[ \t]*#(?!!).*(?:\n[ \t]*#.*)*/gmu);
  return [...tokens].map(({ 0: token, index }) => ({
    line: lineAt(source, index),
    text: token.replaceAll(/^[ \t]*#+ ?/gmu, ''),
  }));
}

export function lineAt(source: string, at: number): number {
  return source.slice(0, at).split('\n').length;
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from);
  return at === -1 ? source.length : at;
}
