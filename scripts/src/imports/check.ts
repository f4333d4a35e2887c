import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { Visitor } from '@swc/core/Visitor.js';
import { cruise, type ICruiseResult, type IModule } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { readManifest, readWorkspaces, type Workspace } from '../read-workspaces.ts';

/** The rules of allowed imports. `$1` in a `to` is the first group of its `from`, the service's name. */
const rules = join(import.meta.dirname, 'dependency-cruiser.json');
/** Files that read and write a service's tables. The pattern excludes object stores, because they store files. */
const store = /(?<!object)-store\.ts$/u;

/**
 * Checks every import below these folders of the checkout at `root` against the rules.
 * @returns the paths of our own files that were read, and one line for each forbidden import.
 */
export async function checkImports(root: string, folders: string[]) {
  teachUsing();
  teachTypeImports();
  const options = await extractDepcruiseOptions(rules);
  const { output } = await cruise(folders, { ...options, baseDir: root });
  if (typeof output === 'string') throw new Error(`the import checker answered with text: ${output}`);

  const files = output.modules.filter(isOurs).map(({ source }) => source);
  const workspaces = readWorkspaces(root);
  return {
    files,
    violations: [
      ...forbidden(output),
      ...storesThatImportUseCases(output.modules),
      ...undeclared(root, workspaces, output.modules),
      ...packageCycles(workspaces),
    ],
  };
}

/** Extends swc's visitor, with which dependency-cruiser reads files. Without this extension, the visitor throws at `using`. */
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

/** A node of swc's syntax tree. */
interface Node {
  type?: string;
  /** The specifier of a `TsImportType`. */
  argument?: unknown;
}

/**
 * Extends swc's visitor, with which dependency-cruiser reads files. The original visitor does not visit types, so each type such as
 * `import('./x.ts').T` is visited as the declaration `import type {} from './x.ts'`.
 */
function teachTypeImports(): void {
  const { visitModule } = Visitor.prototype;
  if (visitModule.name === 'visitWithTypeImports') return;
  Visitor.prototype.visitModule = function visitWithTypeImports(module) {
    const declarations = typeImportsIn(module).map((node) => {
      const declaration = { type: 'ImportDeclaration', typeOnly: true, specifiers: [], source: node.argument };
      delete node.argument; // otherwise dependency-cruiser would read an annotation's import again, as the import of a value
      return declaration as unknown as (typeof module.body)[number];
    });
    return visitModule.call(this, Object.assign(module, { body: [...module.body, ...declarations] }));
  };
}

function typeImportsIn(value: unknown): Node[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.values(value).flatMap(typeImportsIn);
  const node: Node = value;
  return node.type === 'TsImportType' ? [node, ...inside] : inside;
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

// Finds stores that import a use case. Here, a use case is any file that uses a store and is not a store itself. Stores may import helpers
// and other stores.
function storesThatImportUseCases(modules: IModule[]): string[] {
  const isUseCase = ({ source, dependencies }: IModule) =>
    !store.test(source) && dependencies.some(({ resolved }) => store.test(resolved));
  const useCases = new Set(modules.filter(isUseCase).map(({ source }) => source));
  const isUseCaseImport = ({ resolved, dependencyTypes }: IModule['dependencies'][number]) =>
    useCases.has(resolved) && !dependencyTypes.includes('type-only');
  return modules
    .filter(({ source }) => store.test(source))
    .flatMap(({ source, dependencies }) =>
      dependencies.filter(isUseCaseImport).map(({ resolved }) => `store-imports-use-case: ${source} → ${resolved}`),
    );
}

/** Code that is never installed separately, so it may import all `devDependencies`, including the root's. */
const developersCode = /^(?:deploy|scripts)\/|\/test\/|\/testing\/|\.test\.ts$/u;

// Finds imports of packages that the workspace's package.json does not list. They would be missing when a workspace is installed alone.
function undeclared(root: string, workspaces: Workspace[], modules: IModule[]): string[] {
  const ofRoot = Object.keys(readManifest(root, '.').devDependencies ?? {});
  const workspaceOf = (file: string) => workspaces.findLast(({ folder }) => file.startsWith(`${folder}/`));
  return modules.filter(isOurs).flatMap(({ source, dependencies }) => {
    const workspace = workspaceOf(source);
    if (!workspace) return `outside-workspaces: ${source} (no package.json above it says what it may import)`;
    const { folder, manifest } = workspace;
    const declared = new Set([manifest.name, ...Object.keys(manifest.dependencies ?? {})]);
    if (developersCode.test(source)) {
      for (const name of [...Object.keys(manifest.devDependencies ?? {}), ...ofRoot]) declared.add(name);
    }
    // An import of another workspace's file by path counts as an import of its package, too.
    const imported = dependencies.map(({ module, resolved, couldNotResolve }) => {
      if (!module.startsWith('.')) return packageOf(module);
      return couldNotResolve ? undefined : workspaceOf(resolved)?.manifest.name;
    });
    return [...new Set(imported)]
      .filter((name) => name !== undefined && !declared.has(name))
      .map((name) => `undeclared-dependency: ${source} → ${name} (${placeFor(source, folder)})`);
  });
}

function placeFor(source: string, folder: string): string {
  const ofUnit = `name it in ${folder}/package.json`;
  return developersCode.test(source) ? `${ofUnit}, or what only tests use in the root's devDependencies` : ofUnit;
}

// Finds packages that depend on themselves through others, because such packages cannot be understood one after the other.
function packageCycles(workspaces: Workspace[]): string[] {
  let remaining = workspaces.map(({ manifest }) => manifest);
  for (let count = Number.POSITIVE_INFINITY; remaining.length < count; ) {
    count = remaining.length;
    const names = remaining.map(({ name }) => name);
    const needed = new Set(remaining.flatMap(({ dependencies = {} }) => Object.keys(dependencies)));
    remaining = remaining.filter(
      ({ name, dependencies = {} }) => needed.has(name) && names.some((each) => each in dependencies),
    );
  }
  return remaining.length === 0 ? [] : [`package-cycle: ${remaining.map(({ name }) => name).join(', ')}`];
}

/** Returns the package of an import specifier; undefined for Node's built-in modules. */
function packageOf(specifier: string): string | undefined {
  if (isBuiltin(specifier)) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
