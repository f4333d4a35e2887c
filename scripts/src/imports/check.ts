import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { Visitor } from '@swc/core/Visitor.js';
import { cruise, type ICruiseResult, type IModule } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

/** Who may import whom; `$1` in a `to` stands for the first group of its `from`, which is the service's name. */
const rules = join(import.meta.dirname, 'dependency-cruiser.json');
/** What a service's tables are read and written by; an object store keeps files instead. */
const store = /(?<!object)-store\.ts$/u;

/**
 * Reads every import below these folders of the checkout at `root` and holds it against the rules.
 * @returns our own files that were read, by their path, and one line for each forbidden import.
 */
export async function checkImports(root: string, folders: string[]) {
  teachUsing();
  const options = await extractDepcruiseOptions(rules);
  const { output } = await cruise(folders, { ...options, baseDir: root });
  if (typeof output === 'string') throw new Error(`the import checker answered with text: ${output}`);

  const files = output.modules.filter(isOurs).map(({ source }) => source);
  const workspaces = readWorkspaces(root, folders);
  return {
    files,
    violations: [
      ...forbidden(output),
      ...storesThatTurnBack(output.modules),
      ...undeclared(root, workspaces, output.modules),
      ...packageCycles(workspaces),
    ],
  };
}

/** The cruiser walks through a file by swc's visitor, which throws at `using`. */
function teachUsing(): void {
  const { visitStatement, visitVariableDeclarators } = Visitor.prototype;
  if (visitStatement.name === 'visitUsing') return;
  Visitor.prototype.visitStatement = function visitUsing(statement) {
    const { type, decls } = statement as { type: string; decls?: Parameters<typeof visitVariableDeclarators>[0] };
    if (type !== 'UsingDeclaration') return visitStatement.call(this, statement);
    visitVariableDeclarators.call(this, decls ?? []);
    return statement;
  };
}

function isOurs({ source, couldNotResolve }: IModule): boolean {
  return !couldNotResolve && source.endsWith('.ts') && !source.includes('node_modules/');
}

function forbidden({ summary }: ICruiseResult): string[] {
  return summary.violations.map(({ rule, from, to }) => {
    const why = summary.ruleSetUsed?.forbidden?.find(({ name }) => name === rule.name)?.comment;
    return `${rule.name}: ${from} → ${to} (${why})`;
  });
}

// A store may use helpers and other stores, but nothing that itself works with a store: that is a use case.
function storesThatTurnBack(modules: IModule[]): string[] {
  const isUseCase = ({ source, dependencies }: IModule) =>
    !store.test(source) && dependencies.some(({ resolved }) => store.test(resolved));
  const useCases = new Set(modules.filter(isUseCase).map(({ source }) => source));
  const turnsBack = ({ resolved, dependencyTypes }: IModule['dependencies'][number]) =>
    useCases.has(resolved) && !dependencyTypes.includes('type-only');
  return modules
    .filter(({ source }) => store.test(source))
    .flatMap(({ source, dependencies }) =>
      dependencies.filter(turnsBack).map(({ resolved }) => `store-imports-use-case: ${source} → ${resolved}`),
    );
}

/** Never installed by itself, so it may import what only `devDependencies` name, those of the root included. */
const developersCode = /^(?:deploy|scripts)\/|\/test\/|\/testing\/|\.test\.ts$/u;

// A workspace is installed by itself with what its package.json names, so whatever else it imports is missing there.
function undeclared(root: string, workspaces: Workspace[], modules: IModule[]): string[] {
  const ofRoot = Object.keys(readManifest(root, 'package.json').devDependencies ?? {});
  const workspaceOf = (file: string) => workspaces.findLast(({ folder }) => file.startsWith(`${folder}/`));
  return modules.filter(isOurs).flatMap(({ source, dependencies }) => {
    const workspace = workspaceOf(source);
    if (!workspace) return `outside-workspaces: ${source} (no package.json above it says what it may import)`;
    const { folder, manifest } = workspace;
    const declared = new Set([manifest.name, ...Object.keys(manifest.dependencies ?? {})]);
    if (developersCode.test(source)) {
      for (const name of [...Object.keys(manifest.devDependencies ?? {}), ...ofRoot]) declared.add(name);
    }
    // By its path a file of another workspace is as much an import of its package as by its name.
    const imported = dependencies.map(({ module, resolved, couldNotResolve }) => {
      if (!module.startsWith('.')) return packageOf(module);
      return couldNotResolve ? undefined : workspaceOf(resolved)?.manifest.name;
    });
    return [...new Set(imported)]
      .filter((name) => name !== undefined && !declared.has(name))
      .map((name) => `undeclared-dependency: ${source} → ${name} (name it in ${folder}/package.json)`);
  });
}

// Packages can be understood one after the other only where none depends on itself by way of others.
function packageCycles(workspaces: Workspace[]): string[] {
  const dependencies = new Map(
    workspaces.map(({ manifest }) => [manifest.name, Object.keys(manifest.dependencies ?? {})]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (name: string, path: string[]): void => {
    if (path.includes(name)) cycles.push(`package-cycle: ${[...path.slice(path.indexOf(name)), name].join(' → ')}`);
    if (done.has(name) || path.includes(name)) return;
    for (const next of dependencies.get(name) ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of dependencies.keys()) visit(name, []);
  return cycles;
}

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

interface Workspace {
  folder: string;
  manifest: Manifest;
}

/** Sorted, so that one within another follows that. */
function readWorkspaces(root: string, folders: string[]): Workspace[] {
  const files = globSync(`{${folders.join()}}/**/package.json`, {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  });
  return files.toSorted().map((file) => ({ folder: dirname(file), manifest: readManifest(root, file) }));
}

function readManifest(root: string, file: string): Manifest {
  return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

/** The package of an import by a name; undefined for what Node has. */
function packageOf(specifier: string): string | undefined {
  if (isBuiltin(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
