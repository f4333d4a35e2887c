import { setting } from '@parley/kernel/settings/settings';
import { z } from 'zod';
import { readPrices } from './prices.ts';

export const pricesSetting = setting(
  'LLM_PRICES_FILE',
  z
    .string()
    .optional()
    .transform((path, { issues }) => {
      const { prices, problems } = readPrices(path);
      issues.push(...problems.map((message) => ({ code: 'custom' as const, input: path, message })));
      return prices;
    }),
  "File with prices and limits of models, in the format of LiteLLM's `model_prices_and_context_window.json`. Entries of the file take precedence over the shipped entries.",
  { without: 'the shipped prices' },
);
