import { readFileSync } from 'node:fs';
import type { ModelPrice } from './model-price.ts';
import { type ParsedPrices, parsePrices } from './parse-prices.ts';

export interface Prices {
  /** Returns the entry of the model's own id, otherwise the entry of `<vendor>/<id>`, as LiteLLM names some models. */
  find(modelId: string): ModelPrice | undefined;
}

const vendors = ['openai', 'anthropic', 'gemini', 'bedrock', 'bedrock_converse'];

/** Reads the shipped prices and the operator's file, whose prices take precedence. */
export function readPrices(path: string | undefined): { prices: Prices; problems: string[] } {
  const shipped = parsePrices(readFileSync(new URL('shipped-prices.json', import.meta.url), 'utf8')).prices;
  const given = path === undefined ? undefined : operatorPrices(path);
  const tables = given ? [given.prices, shipped] : [shipped];
  const prices: Prices = {
    find(modelId) {
      const names = [modelId, ...vendors.map((vendor) => `${vendor}/${modelId}`)];
      return tables.map((table) => firstOf(table, names)).find((price) => price !== undefined);
    },
  };
  return { prices, problems: given?.problems ?? [] };
}

/** Returns the shipped prices only, without an operator's file. */
export function shippedPrices(): Prices {
  return readPrices(undefined).prices;
}

function operatorPrices(path: string): ParsedPrices {
  try {
    return parsePrices(readFileSync(path, 'utf8'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    return { prices: new Map(), problems: [`cannot be read${code}`] };
  }
}

function firstOf(table: Map<string, ModelPrice>, names: string[]): ModelPrice | undefined {
  const name = names.find((each) => table.has(each));
  return name === undefined ? undefined : table.get(name);
}
