import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface Workspace {
  /** `session`. */
  name: string;
  /** `services/session`. */
  folder: string;
  /** Its test files, by their path below the folder. */
  files: string[];
}

/** The workspaces of the checkout that have tests, those with most files first. */
export function testedWorkspaces(root: string): Workspace[] {
  const patterns: string[] = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).workspaces;
  return globSync(patterns, { cwd: root })
    .map((folder) => ({ name: basename(folder), folder, files: testFiles(join(root, folder)) }))
    .filter(({ files }) => files.length > 0)
    .toSorted((a, b) => b.files.length - a.files.length);
}

/** Those of a workspace's tests that work on a database, to be run again on a PostgreSQL server; undefined: none. */
export function onPostgres(root: string, workspace: Workspace): Workspace | undefined {
  const folder = join(root, workspace.folder);
  const usesDatabase = (file: string) => {
    const support = globSync('test/**/*.ts', { cwd: folder, exclude: (name) => name.endsWith('.test.ts') });
    const marked = support.filter((each) => marks.test(readFileSync(join(folder, each), 'utf8')));
    const text = readFileSync(join(folder, file), 'utf8');
    return marks.test(text) || marked.some((each) => text.includes(`/${basename(each)}'`));
  };
  const files = workspace.files.filter((file) => file.startsWith('test/') && usesDatabase(file));
  return files.length > 0 ? { ...workspace, name: `${workspace.name} on PostgreSQL`, files } : undefined;
}

/** How a test gets its database: from the chassis, which takes the server that it is told of. */
const marks = /testing\/test-schema|\btestDatabaseUrl\b/;

function testFiles(folder: string): string[] {
  return globSync('**/*.test.ts', { cwd: folder, exclude: (name) => name === 'node_modules' });
}
