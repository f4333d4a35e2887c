import { splitMutations } from '../graph/split-mutations.ts';

interface SubgraphAnswer {
  data?: Record<string, unknown> | null;
  errors?: readonly { path?: readonly (string | number)[] | undefined }[];
}

/**
 * Whether a mutation of a request to a subgraph did what it is for. They run in order, and one that fails and may not be null ends that;
 * an error below a mutation is of what was selected of its result.
 */
export function tookEffect(query: string, { data, errors = [] }: SubgraphAnswer): boolean {
  const [first] = splitMutations(query);
  if (first?.fields[0]?.type !== 'Mutation') return false;
  if (Object.values(data ?? {}).some((value) => value !== null)) return true;
  const { responseName } = first;
  const firstFailed = errors.some(
    ({ path = [] }) => path.length === 0 || (path.length === 1 && path[0] === (responseName ?? path[0])),
  );
  return errors.length > 0 && !firstFailed;
}
