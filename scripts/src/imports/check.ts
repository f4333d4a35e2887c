import { Visitor } from '@swc/core/Visitor.js';
import { cruise, type ICruiseResult, type IModule } from 'dependency-cruiser';
import { rules, store } from './rules.ts';

export interface ImportsFound {
  /** Our own files that were read, by their path. */
  files: string[];
  /** One line for each forbidden import. */
  violations: string[];
}

/** Reads every import below these folders of the checkout at `root` and holds it against the rules. */
export async function checkImports(root: string, folders: string[]): Promise<ImportsFound> {
  teachUsing();
  const { output } = await cruise(folders, {
    baseDir: root,
    validate: true,
    ruleSet: { forbidden: rules.map((rule) => ({ ...rule, severity: 'error' as const })) },
    doNotFollow: { path: 'node_modules' },
    // TypeScript 7 has no API for the cruiser, which would then see no file at all.
    parser: 'swc',
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['node', 'import', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.json', '.d.ts'],
    },
  });
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
    const why = rules.find(({ name }) => name === rule.name)?.comment;
    return `${rule.name}: ${from} → ${to} (${why})`;
  });
}

// A store may use helpers and other stores, but nothing that itself works with a store: that is a use case.
function storesThatTurnBack(modules: IModule[]): string[] {
  const isStore = ({ source }: { source: string }) => new RegExp(store).test(source);
  const useCases = new Set(
    modules
      .filter((each) => !isStore(each) && each.dependencies.some(({ resolved }) => isStore({ source: resolved })))
      .map(({ source }) => source),
  );
  return modules
    .filter(isStore)
    .flatMap(({ source, dependencies }) =>
      dependencies
        .filter(({ resolved, dependencyTypes }) => useCases.has(resolved) && !dependencyTypes.includes('type-only'))
        .map(({ resolved }) => `store-imports-use-case: ${source} → ${resolved}`),
    );
}
