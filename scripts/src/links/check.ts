import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import GithubSlugger from 'github-slugger';
import { lexer, Parser, TextRenderer, type Token, walkTokens } from 'marked';

interface Page {
  /** The anchors of the page's headings, as GitHub renders them. */
  anchors: Set<string>;
  /** The targets of links and images. */
  targets: string[];
  /** The texts of code spans. */
  codeSpans: string[];
}

/**
 * Matches a code span that is the path of one file, or, with a trailing slash, the path of one folder. Patterns such as `src/*.ts` do not
 * match.
 */
const sourcePath =
  /^(?:[\w@.-]+\/)*[\w@.-]+(?:\.(?:ts|mjs|sh|md|proto|graphql)|(?<=\/.*)\.(?:json|yaml)|(?<=\/.*)\/)$/u;
/** Matches the path of a page in a comment or string of source code. */
const pagePath = /(?<![\w/:.-])(?:\.{1,2}\/)*[\w@-]+(?:\/[\w.@-]+)*\/[\w.-]+\.md\b/gu;

/**
 * Finds broken paths in pages and sources:
 * - links of pages to a missing file or heading, except links to other hosts;
 * - paths of missing files in code spans of pages, and in sources.
 *
 * A path may start at the root, at the folder of its file, or anywhere below the root: `limits/throttle.ts` means
 * `gateway/src/limits/throttle.ts`.
 * @param root the checkout.
 * @param folders the folders with pages and sources; pages in the root are read, too.
 * @returns the pages that were read, and one line for each problem.
 */
export function checkLinks(root: string, folders: string[]): { pages: string[]; problems: string[] } {
  const patterns = ['*', ...folders.map((folder) => `${folder}/**/*`)];
  const files = globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' });
  const pages = new Map(files.filter(isPage).map((path) => [path, readPage(root, path)]));
  const known = new Set(files);
  const ends = new Set(files.flatMap(endsOf));
  const isThere = (file: string, path: string) =>
    ends.has(path.replace(/\/$/u, '')) || known.has(relative(root, resolve(root, dirname(file), path)));
  const problems = [...pages].flatMap(([file, { targets, codeSpans }]) => [
    ...targets.flatMap((target) => brokenTarget(root, pages, file, target) ?? []),
    ...codeSpans
      .filter((span) => sourcePath.test(span) && !isThere(file, span))
      .map((span) => `${file}: no file ${span}`),
  ]);
  const sources = files.filter(isSource).flatMap((file) => {
    const named = readFileSync(join(root, file), 'utf8').match(pagePath) ?? [];
    return named.filter((path) => !isThere(file, path)).map((path) => `${file}: no file ${path}`);
  });
  return { pages: [...pages.keys()], problems: [...new Set([...problems, ...sources])] };
}

/** Returns the problem with the target of a link; undefined if there is none. */
function brokenTarget(root: string, pages: Map<string, Page>, file: string, target: string): string | undefined {
  if (/^[a-z][a-z+.-]*:/iu.test(target)) return undefined; // another host
  const [path = '', anchor] = decodeURI(target).split('#', 2);
  const linked = path === '' ? file : relative(root, resolve(root, dirname(file), path));
  const entry = statSync(join(root, linked), { throwIfNoEntry: false });
  if (!entry || linked.startsWith('..')) return `${file}: no file ${path}`;
  if (anchor === undefined) return undefined;
  const page = pages.get(entry.isDirectory() ? join(linked, 'README.md') : linked);
  return page?.anchors.has(anchor) ? undefined : `${file}: no heading #${anchor} in ${linked}`;
}

function readPage(root: string, path: string): Page {
  const tokens = lexer(readFileSync(join(root, path), 'utf8'));
  const slugs = new GithubSlugger();
  const page: Page = { anchors: new Set(), targets: [], codeSpans: [] };
  void walkTokens(tokens, (token: Token) => {
    if (token.type === 'heading') page.anchors.add(slugs.slug(plainText(token.tokens ?? [])));
    if (token.type === 'link' || token.type === 'image') page.targets.push(String(token['href']));
    if (token.type === 'codespan') page.codeSpans.push(String(token['text']));
  });
  return page;
}

/** Returns the text of a heading without its markup. */
function plainText(tokens: Token[]): string {
  return new Parser().parseInline(tokens, new TextRenderer());
}

/** Returns a path and its suffixes: for `a/b/c.ts` also `b/c.ts` and `c.ts`. */
function endsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, n) => parts.slice(n).join('/'));
}

function isPage(path: string): boolean {
  return path.endsWith('.md');
}

/** Tests are excluded, because they contain paths of pages that they create themselves. */
function isSource(path: string): boolean {
  return /\.(?:ts|mjs|proto|graphql|sh|yaml)$/u.test(path) && !/\.test\.ts$|\/test\/|\/gen(?:erated)?\//u.test(path);
}
