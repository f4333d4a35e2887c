import { type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

/** The enclosing list. `top`: none, i.e. one type by itself. `types`: all types. `fields`: the fields of a type, or the directives. */
type Place = 'top' | 'types' | 'fields';

/** Estimated list lengths: one type may have many elements, the average type has few. */
const lengths: Record<Place, Record<string, number>> = {
  top: {
    types: 100,
    directives: 10,
    fields: 80,
    inputFields: 20,
    enumValues: 20,
    args: 8,
    interfaces: 2,
    possibleTypes: 5,
  },
  types: { fields: 8, inputFields: 3, enumValues: 2, args: 2, interfaces: 1, possibleTypes: 1 },
  fields: { fields: 5, inputFields: 5, enumValues: 2, args: 2, interfaces: 1, possibleTypes: 1 },
};

/** Estimated number of types below each `ofType`. It is below 1, because chains of `ofType` are short: list, non-null and a name. */
const unwrapped = 0.5;

/** The maximum cost of introspection: about twice that of graphql-js's full introspection query. */
export const maxIntrospection = 90_000;

/** Estimates the values that an introspection query resolves. Each fragment is visited once per place. */
export function introspectionCosts(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
  const known = new Map<string, number>();

  function ofFragment(name: string, place: Place): number {
    const key = `${place} ${name}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    known.set(key, 0); // ends recursion; validation refuses recursive fragments
    const fragment = fragments.get(name);
    const cost = fragment ? ofSelections(fragment.selectionSet, place) : 0;
    known.set(key, cost);
    return cost;
  }

  function ofSelections({ selections }: SelectionSetNode, place: Place): number {
    let sum = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        sum += ofFragment(selection.name.value, place);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        sum += ofSelections(selection.selectionSet, place);
      } else {
        sum += 1;
        const { selectionSet } = selection;
        const name = selection.name.value;
        if (!selectionSet) continue;
        const elements = name === 'ofType' ? unwrapped : length(name, place);
        sum += elements * (1 + ofSelections(selectionSet, inside(name, place)));
      }
    }
    return sum;
  }

  return (selections: SelectionSetNode): number => ofSelections(selections, 'top');
}

function length(name: string, place: Place): number {
  return Object.hasOwn(lengths[place], name) ? (lengths[place][name] ?? 1) : 1;
}

function inside(name: string, place: Place): Place {
  if (name === 'types') return 'types';
  return name === 'fields' || name === 'directives' ? 'fields' : place;
}
