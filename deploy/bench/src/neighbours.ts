import { eventually } from '@parley/testing/eventually';
import type { ModelServer } from '@parley/testing/model-server';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import type { BenchOptions, StartedMesh } from './processes.ts';
import { content, opener } from './turns.ts';

/** Returns settings for an additional provider, served by `model`. Direct calls can name the provider; no conversation uses it. */
export const providerOf = (model: ModelServer, modelId: string) => ({
  CLOUD_HOSTED_MODELS_API: 'openai',
  CLOUD_HOSTED_MODELS_URL: model.url,
  CLOUD_HOSTED_MODELS_KEY: 'bench',
  CLOUD_HOSTED_MODELS_MODEL: modelId,
  LLM_FALLBACKS: 'HOSTED_SMALL_MODEL',
});

/**
 * Measures the times to the first chunks of conversations while direct calls use another provider. At first, that provider works. Then it
 * fails, and its calls fall back to the provider of the conversations.
 * @param call makes one direct call that names the other provider
 */
export async function neighbourFigures(
  { rounds, short, say }: BenchOptions,
  { urls }: StartedMesh,
  other: ModelServer,
  call: () => Promise<unknown>,
): Promise<Figure[]> {
  const [people, waves] = short ? [2, 1] : [50, 4];
  say(`conversations beside a provider that fails, ${rounds} rounds`);
  await using sockets = new AsyncDisposableStack();
  const open = await opener(urls);
  const talkers = await oneByOne(people, async () => sockets.use(await open()));

  /** Measures the times to the first chunks of turns. If a direct call is given, as many direct calls as turns run at the same time. */
  async function firstChunks(direct?: () => Promise<unknown>): Promise<number[]> {
    const wave = async () => {
      const calls = direct ? atOnce(people, direct) : [];
      const [times] = await Promise.all([atOnce(people, async (n) => talkers[n]?.firstChunkMs(content)), calls]);
      return times.map((time) => time ?? Number.NaN);
    };
    return (await oneByOne(waves, wave)).flat();
  }

  /**
   * Measures the times to first chunks while the other provider fails. It starts to fail in the middle of the first wave of direct calls.
   */
  async function failing(): Promise<number[]> {
    const before = other.requests.length;
    other.answerWith(() => (other.requests.length - before > people / 2 ? { status: 503 } : {}));
    try {
      return await firstChunks(call);
    } finally {
      other.answerWith({});
      await eventually('the other provider to answer again', async () => {
        const { finished } = other.counts;
        await call();
        return other.counts.finished > finished;
      });
    }
  }

  const round = async () => ({ quiet: await firstChunks(), answers: await firstChunks(call), fails: await failing() });
  await round(); // warm-up
  const measured = await oneByOne(rounds, round);
  const p99 = (which: 'quiet' | 'answers' | 'fails') => medianOf(measured, (times) => quantile(times[which], 0.99));
  const ratio = (from: 'quiet' | 'answers') =>
    medianOf(measured, (times) => quantile(times.fails, 0.99) / quantile(times[from], 0.99));
  const name = `first chunk, ${people} conversations at once`;
  return [
    figure(`${name}, p99`, p99('quiet'), 'ms'),
    figure(`${name}, beside ${people} direct calls of another provider, p99`, p99('answers'), 'ms'),
    figure(`${name}, beside ${people} while that fails, p99`, p99('fails'), 'ms'),
    figure(`${name}, while that fails over while it answers, p99`, ratio('answers'), '×'),
    figure(`${name}, while that fails over without direct calls, p99`, ratio('quiet'), '×', { goal: 2 }),
  ];
}
