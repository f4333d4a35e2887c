import { setTimeout as delay } from 'node:timers/promises';

export interface BenchOptions {
  /** How often what is compared is measured in turn. */
  rounds: number;
  /** Counts so small that the figures mean nothing; all of it runs. */
  short: boolean;
  profileFolder?: string | undefined;
  /** Told what is measured next. */
  say: (text: string) => void;
}

/** Waits until what was opened or closed is done with. */
export const settled = ({ short }: BenchOptions) => delay(short ? 50 : 1_500);
