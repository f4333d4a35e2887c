import parse from 'jsonpath-rfc9535/parser';

/** Maximum length of a path, in code points. */
export const maxPathLength = 500;

/** Maximum nesting of brackets and parentheses: the parser's time doubles with every one or two levels. */
const maxDepth = 12;

/** The functions of RFC 9535 and their numbers of arguments; the parser itself accepts any name. */
const functions: Record<string, number> = { length: 1, count: 1, value: 1, match: 2, search: 2 };

type Query = ReturnType<typeof parse>;

/**
 * Returns why a text is not a JSONPath (RFC 9535) within our limits; undefined if the text is valid. The reason completes the sentence
 * "<path> …".
 */
export function pathProblem(text: string): string | undefined {
  if ([...text].length > maxPathLength) return `must have at most ${maxPathLength} characters`;
  if (depthOf(text) > maxDepth) return `must have at most ${maxDepth} brackets within each other`;
  try {
    return functionProblem(parse(text));
  } catch (error) {
    return `must be a JSONPath of RFC 9535${placeOf(error)}`;
  }
}

/** Returns a parsed path, and whether the path selects at most one value of any document (`singular query` of RFC 9535). */
export function parsePath(text: string): { query: Query; isSingular: boolean } {
  const query = parse(text);
  return { query, isSingular: query.segments.every(isSingularSegment) };
}

function isSingularSegment({ type, node }: Query['segments'][number]): boolean {
  if (type !== 'ChildSegment') return false;
  if (node.type === 'MemberNameShorthand') return true;
  if (node.type !== 'BracketedSelection' || node.selectors.length !== 1) return false;
  const [selector] = node.selectors;
  return selector?.type === 'NameSelector' || selector?.type === 'IndexSelector';
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [found] of text.matchAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[[\]()]/gu)) {
    if (found === '[' || found === '(') depth += 1;
    else if (found === ']' || found === ')') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function functionProblem(node: unknown): string | undefined {
  if (typeof node !== 'object' || node === null) return undefined;
  if ('type' in node && node.type === 'FunctionExpr') {
    const { name, arguments: given } = node as unknown as { name: string; arguments: unknown[] };
    const wanted = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (wanted === undefined) return `must use the functions ${Object.keys(functions).join(', ')} only`;
    if (given.length !== wanted) return `must give ${name}() ${wanted === 1 ? 'one argument' : `${wanted} arguments`}`;
  }
  for (const part of Object.values(node)) {
    const problem = functionProblem(part);
    if (problem) return problem;
  }
  return undefined;
}

/** Returns the position of a syntax error, without quoting the text. */
function placeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('location' in error)) return '';
  const { location } = error as { location?: { start?: { offset?: number } } };
  const offset = location?.start?.offset;
  return offset === undefined ? '' : `, which it is not from character ${offset + 1} on`;
}
