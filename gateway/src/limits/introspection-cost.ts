import { type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

/** Where a selection stands: below the list of all types, below a type asked for by itself, below the fields of another. */
type Place = 'top' | 'types' | 'fields';

/**
 * About how many elements a list of the schema has, by where it is asked for: those of one type can be many, those of all types
 * are few each.
 */
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

/** A chain of `ofType` ends soon: list, non-null and a name. */
const unwrapped = 0.5;

/** What one operation may ask of the schema: about twice what graphql-js asks with everything switched on. */
export const maxIntrospection = 90_000;

/**
 * Tells about how many values of the schema a selection below `__schema` or `__type` resolves: lists within lists multiply, and
 * so do aliases in them. Each node is visited once a place, however often its fragment is spread.
 */
export function introspectionCosts(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
  const known = new Map<string, number>();

  function ofFragment(name: string, place: Place): number {
    const key = `${place} ${name}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    known.set(key, 0); // while it is being weighed; validation refuses one within itself
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
