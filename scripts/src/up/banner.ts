import type { LocalMesh } from '@parley/local';
import { defaultUrl } from '../talk/options.ts';

export interface BannerFacts {
  /** How long the start took. */
  seconds: number;
  dataFolder: string;
  logFile: string;
}

/** What a person needs to know once everything is up. */
export function banner(mesh: Pick<LocalMesh, 'publicUrl' | 'engines' | 'models'>, facts: BannerFacts): string {
  const url = mesh.publicUrl().replace('127.0.0.1', 'localhost');
  const endpoint = `${url}/graphql`;
  const models = mesh.models();
  const rows: [string, string][] = [
    ['GraphQL', `${endpoint}   (header x-app-platform: customer)`],
    ['subscriptions', `${url.replace(/^http/, 'ws')}/graphql   (graphql-ws)`],
    ['keys of tokens', `${url}/.well-known/jwks.json`],
    ...Object.entries(mesh.engines()),
    ['models', models.map(({ providerId, modelId }) => `${providerId} (${modelId})`).join(', ')],
    ['data', facts.dataFolder],
    ['log', facts.logFile],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const offline = models.every((model) => model.offline)
    ? '\nNo model is configured: the offline one answers. It is no language model, it picks its words from the persona and the\nconversation. Set HOSTED_SMALL_MODEL_URL to any OpenAI-compatible endpoint for a real one.\n'
    : '';
  return [
    `\nParley is up, after ${facts.seconds.toFixed(1)} s.\n`,
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    offline,
    talkHint(endpoint),
    'Stop with Ctrl-C.\n\n',
  ].join('\n');
}

/** The one command to try next; an address that is not the usual one is part of it. */
export function talkHint(endpoint: string): string {
  return `Talk to an agent, in another terminal:  scripts/talk${endpoint === defaultUrl ? '' : ` --url ${endpoint}`}`;
}
