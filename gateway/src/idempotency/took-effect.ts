import { runningMutations } from '../graph/split-mutations.ts';

interface Asked {
  query: string;
  variables?: Record<string, unknown> | undefined;
}

interface SubgraphAnswer {
  data?: Record<string, unknown> | null;
  errors?: readonly { path?: readonly (string | number)[] | undefined }[];
}

/**
 * Reports whether any mutation of a subgraph request has taken effect. Mutations run in order; when a mutation with a non-null type fails,
 * all of `data` is null. An error with a path below a mutation concerns a field of the mutation's result, so the mutation itself has taken
 * effect.
 */
export function tookEffect({ query, variables }: Asked, { data, errors = [] }: SubgraphAnswer): boolean {
  const running = runningMutations(query, variables).map(({ responseName }) => responseName);
  if (running.length === 0) return false;
  if (errors.some(({ path = [] }) => path.length > 1)) return true;
  if (data) return running.some((name) => (data[name] ?? null) !== null);
  const failed = new Set(errors.flatMap(({ path = [] }) => path));
  const last = running.findLastIndex((name) => failed.has(name));
  return running.slice(0, Math.max(last, 0)).some((name) => !failed.has(name));
}
