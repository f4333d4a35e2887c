import { join } from 'node:path';
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
  return { files, violations: [...forbidden(output), ...storesThatTurnBack(output.modules)] };
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
