import type { Figure } from './figures.ts';
import { gatewayFigures } from './gateway.ts';
import { localFigures } from './local.ts';
import { loginsFigures } from './logins.ts';
import { meshFigures } from './mesh.ts';
import type { BenchOptions } from './processes.ts';

/** A part answers its figures, or the reason why this machine cannot measure it. */
const measure = { local: localFigures, logins: loginsFigures, gateway: gatewayFigures, mesh: meshFigures };
export type BenchPart = keyof typeof measure;
export const benchParts = Object.keys(measure) as BenchPart[];

/** The figures of these parts, of one machine and one run, and those parts that are left out, with the reason. */
export async function bench(parts: readonly BenchPart[], options: BenchOptions) {
  const figures: Figure[] = [];
  const leftOut: string[] = [];
  for (const part of benchParts.filter((each) => parts.includes(each))) {
    const measured = await measure[part](options);
    if (typeof measured === 'string') leftOut.push(`${part}: ${measured}`);
    else figures.push(...measured);
  }
  return { figures, leftOut };
}
