import { readSettings } from '@parley/kernel/settings/config';
import type { ModelDescription } from '@parley/local/mesh-settings';
import { talkSettings } from '@parley/units/command-settings';

/**
 * Returns the row that lists variables whose names are similar to names of settings. @param unknown the most similar setting, by variable.
 */
export function unknownRow(unknown: Record<string, string> = {}): [string, string][] {
  const shown = Object.entries(unknown).map(([name, nearest]) => `${name} (the nearest is ${nearest})`);
  return shown.length === 0 ? [] : [['no settings', shown.join(', ')]];
}

/**
 * Returns the text that is printed when everything is up.
 * @param rows further rows: pairs of name and value
 * @param what a suffix that describes the processes, e.g. ` as 8 processes`
 */
export function banner(url: string, models: ModelDescription[], rows: [string, string][], what = ''): string {
  const endpoint = `${url}/graphql`;
  const all = [
    ['GraphQL', `${endpoint}   (header x-app-platform: customer)`],
    ['subscriptions', `${endpoint.replace(/^http/, 'ws')}   (graphql-ws)`],
    ...rows,
    ['models', models.map(({ providerId, modelId }) => `${providerId} (${modelId})`).join(', ')],
  ];
  const width = Math.max(...all.map(([name = '']) => name.length));
  const offline = models.every((model) => model.offline)
    ? '\nNo model is configured: the offline one answers. It is no language model, it picks its words from the persona and the\nconversation. Set HOSTED_SMALL_MODEL_URL to any OpenAI-compatible endpoint for a real one.\n'
    : '';
  const seconds = performance.now() / 1000; // seconds since the start of the process
  return [
    `\nParley is up${what}, after ${seconds.toFixed(1)} s.\n`,
    ...all.map(([name = '', value]) => `  ${name.padEnd(width)}  ${value}`),
    offline,
    `Talk to an agent, in another terminal:  scripts/talk${endpoint === readSettings({}, talkSettings).url ? '' : ` --url ${endpoint}`}`,
    'Stop with Ctrl-C.\n\n',
  ].join('\n');
}
