import { JsonText } from '@parley/graph/answer-size';
import { type FieldInfo, selectedFields } from '@parley/graph/selected-fields';
import type { AnswerBudget } from '@parley/kernel/answer-budget';
import { isJsonObject } from '@parley/kernel/json';
import { answerDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import DataLoader from 'dataloader';
import type { GraphQLResolveInfo } from 'graphql';

export type GraphAnswer = ReturnType<typeof graphAnswer>;

/** The answer to one request. All reads for the answer are charged to one budget. */
export function graphAnswer(budget: AnswerBudget) {
  const written: { path: GraphQLResolveInfo['path']; text: JsonText }[] = [];
  return {
    budget,

    /**
     * Serves a resolver of a large list. The JSON that `write` returns is inserted into the answer without executing its fields. Lists are
     * written one at a time, and no further list is written once the budget is used up.
     */
    asJson(write: () => Promise<Buffer>, { path }: GraphQLResolveInfo): Promise<never[]> {
      return budget.runExclusive(async (allowance) => {
        const json = await write();
        allowance.charge(json.length);
        written.push({ path, text: new JsonText(json) });
        return [];
      });
    },

    /** Inserts the JSON of `asJson` into the executed data, at the fields whose resolvers called `asJson`. */
    placed(data: unknown): JsonText[] {
      return written.flatMap(({ path, text }) => {
        const holder = path.prev ? valueAt(data, path.prev) : data;
        if (!isJsonObject(holder) || !(path.key in holder)) return [];
        holder[path.key] = text;
        return [text];
      });
    },

    /** Returns the dependencies with a database that reads for this field: within the budget, and only the selected columns. */
    reading<Deps extends { database: Database }>(deps: Deps, info: FieldInfo): Deps {
      return { ...deps, database: answerDatabase(deps.database, budget, selectedFields(info)) };
    },

    /**
     * Reads a field of many objects, or many references, by one call of `read` with all their keys. There is one call for each place of the
     * field in the document, because each place has its own arguments. An object that is repeated is charged each time.
     */
    batched<Args extends unknown[], Value>(
      read: (info: FieldInfo, keys: readonly number[], ...args: Args) => Promise<Value[]>,
    ) {
      const places = new Map<FieldInfo['fieldNodes'], { loader: DataLoader<number, Value>; shown: Set<number> }>();
      return async (info: FieldInfo, key: number, ...args: Args) => {
        const place = places.get(info.fieldNodes) ?? {
          loader: new DataLoader<number, Value>((keys) => read(info, keys, ...args)),
          shown: new Set<number>(), // keys whose objects were charged when they were read
        };
        places.set(info.fieldNodes, place);
        const again = place.shown.has(key);
        place.shown.add(key);
        const value = await place.loader.load(key);
        if (again) budget.charge((Array.isArray(value) ? value.length : 1) * selectedFields(info).objectBytes);
        return value;
      };
    },
  };
}

function valueAt(data: unknown, { prev, key }: GraphQLResolveInfo['path']): unknown {
  const holder = prev ? valueAt(data, prev) : data;
  return typeof holder === 'object' && holder !== null ? (holder as Record<string, unknown>)[key] : undefined;
}
