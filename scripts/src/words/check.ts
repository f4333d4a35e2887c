import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type Comment, graphqlComments, hashComments, lineAt, protoComments, slashComments } from './comments.ts';
import { type DeclaredName, parseNames } from './names.ts';

const commentsIn: Record<string, (source: string) => Comment[]> = {
  '.proto': protoComments,
  '.graphql': graphqlComments,
  '.sh': hashComments,
  '.yaml': hashComments,
  '.py': hashComments,
};

/**
 * Folders whose code knows no conversations, so the word "turn" must not be used there. `namesOfTurns` are names in these folders that do
 * mean a conversation's turn.
 */
const withoutConversations = /^services\/chassis\/|^gateway\//u;
const namesOfTurns = new Set(['turnIndex', 'clientTurnId', 'turnId', 'turnsAtOnceSetting']);

/**
 * Reports comments and names that CONTRIBUTING.md rules out: comments that begin with "Of", "That" or "Whose"; bounds that are not called
 * `max…` or `min…`; `AbortSignal`s that are not called `signal` or `…Signal`; and names with "turn" in code that knows no conversations.
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
  const ofNames = names.flatMap((name) => {
    const problem = problemOfName(file, name);
    return problem ? [{ line: lineAt(bytes, name.at), problem }] : [];
  });
  return [...slashComments(bytes, literals).flatMap(problemOfComment), ...ofNames];
}

function problemOfComment({ line, text }: Comment): Problem[] {
  const first = /^(?:Of|That|Whose)\b/u.exec(text)?.[0];
  return first ? [{ line, problem: `a comment begins with "${first}"; name its subject` }] : [];
}

function problemOfName(file: string, { name, isSignal }: DeclaredName): string | undefined {
  if (/^(?:most(?:[A-Z]\w*)?|least)$/u.test(name)) return `'${name}' is a bound; call it max… or min…`;
  if (isSignal && !/^(?:signal|\w*Signal)$/u.test(name))
    return `'${name}' is an AbortSignal; call it signal or …Signal`;
  const hasTurn = /(?:^turn|Turn)s?(?![a-z])/u.test(name) && !namesOfTurns.has(name);
  if (hasTurn && withoutConversations.test(file))
    return `'${name}' is no turn of a conversation; name the queue or tick`;
  return undefined;
}
