import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type Comment, graphqlComments, hashComments, lineAt, protoComments, slashComments } from './comments.ts';
import { type DeclaredName, parseNames } from './names.ts';

/** Functions that find comments, by file extension. Files without an extension are shell scripts and Dockerfiles. */
const commentsIn: Record<string, (source: string) => Comment[]> = {
  '.proto': protoComments,
  '.graphql': graphqlComments,
  '.sh': hashComments,
  '.yaml': hashComments,
  '.py': hashComments,
  '': hashComments,
};

/** Files about conversations. Names with "turn" in these files are about a conversation's turns. */
const hasConversations =
  /^services\/(?:session|agent|action|evaluation|export)\/|^deploy\/(?:stories|bench|demo)\/|^scripts\/src\/(?:bench\.ts$|words\/)/u;
/** Names in other files that are also about a conversation's turns. */
const namesOfTurns = new Set([
  'turnIndex',
  'clientTurnId',
  'turnId',
  'turnsAtOnceSetting',
  'turnsPerReplica',
  'ParleyTurnsWait',
  'TurnUsage',
]);
/** Names that are about an order or a lock, in any file. */
const namesOfOrder = /^(?:in|take|takes|lock)Turns?$/u;
/** The field `left` of `MeterSpendResponse` in identity's proto: a field cannot be renamed. */
const mirrorsLeft = new Set(['services/chassis/metering/src/ledger.ts', 'services/identity/src/rpc.ts']);
/** Tests may call the rest of something `left`. */
const isTest = /\.test\.ts$|\/test\//u;

/**
 * Reports comments and names that CONTRIBUTING.md rules out:
 * - comments and `@returns` that begin with "Of", "That" or "Whose";
 * - bounds that are not called `max…` or `min…`;
 * - `AbortSignal`s that are not called `signal` or `…Signal`;
 * - `left`, unless it is a side;
 * - names with "turn" that are no turn of a conversation.
 *
 * @param files paths below `root`. Only TypeScript, JavaScript and the languages in {@link commentsIn} are read.
 * @returns one line for each problem, with its file and line.
 */
export function checkWords(root: string, files: string[]): string[] {
  return files.flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    const found = /\.m?[jt]s$/u.test(file)
      ? checkScript(file, source)
      : (commentsIn[extname(file)]?.(source) ?? []).flatMap(problemOfComment);
    return found
      .toSorted((one, other) => one.line - other.line)
      .map(({ line, problem }) => `${file}:${line} ${problem}`);
  });
}

interface Problem {
  line: number;
  problem: string;
}

function checkScript(file: string, source: string): Problem[] {
  const bytes = Buffer.from(source).toString('latin1'); // one character per byte, because the parser counts bytes
  const { names, literals } = parseNames(source);
  const isSide = names.some(({ name }) => name === 'right' || name === 'bottom');
  const mayUseLeft = isSide || isTest.test(file) || mirrorsLeft.has(file);
  const ofNames = names.flatMap((name) => {
    const problem = name.name === 'left' && mayUseLeft ? undefined : problemOfName(file, name);
    return problem ? [{ line: lineAt(bytes, name.at), problem }] : [];
  });
  return [...slashComments(bytes, literals).flatMap(problemOfComment), ...ofNames];
}

function problemOfComment({ line, text }: Comment): Problem[] {
  const found = text.matchAll(/(?:^|(?<tag>@returns) )(?<first>Of|That|Whose)\b/gu);
  return [...found].map(({ index, groups: { tag, first } = {} }) => ({
    line: line + lineAt(text, index) - 1,
    problem: `${tag ?? 'a comment'} begins with "${first}"; name its subject`,
  }));
}

function problemOfName(file: string, { name, type }: DeclaredName): string | undefined {
  if (name === 'left') return "'left' has three meanings; call it abandoned…, closed… or remaining…";
  if (/^(?:most|least(?!Busy))(?:[A-Z]\w*)?$/u.test(name)) return `'${name}' is a bound; call it max… or min…`;
  if (type === 'AbortSignal' && !/^(?:signal|\w*Signal)$/u.test(name))
    return `'${name}' is an AbortSignal; call it signal or …Signal`;
  if (type === 'AbortController' && name === 'gone') return "'gone' is an AbortController; call it leaving or client";
  const isTurn = /(?:^turn|Turn)s?(?![a-z])/u.test(name) && !namesOfTurns.has(name);
  if (namesOfOrder.test(name) || (isTurn && !hasConversations.test(file)))
    return `'${name}' is no turn of a conversation; name the queue, order or tick`;
  return undefined;
}
