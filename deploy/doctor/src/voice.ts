import { readWithin } from '@parley/kernel/http/read-within';
import { listSettings, type ValuesOf } from '@parley/kernel/settings/settings';
import { catalogUrl, maxCatalogBytes, readCatalog } from '@parley/voice/avatar-catalog';
import { voiceSettings } from '@parley/voice/config';
import { z } from 'zod';
import { connectionProblem, hostAndPort, reach, reasonOf } from './connection-problem.ts';
import { type Installation, settingsRead, usable } from './installation.ts';
import { type Outcome, ok, warning, wrong } from './outcome.ts';

const { tts, stt, models, avatarVendor } = voiceSettings;
/** The settings of the providers that voice calls. */
export const voiceProviders = { tts, stt, models, avatarVendor };

/** A free request that shows whether a key is accepted. */
interface Probe {
  url: string;
  headers: Record<string, string>;
  names: { url: string; key: string };
  hasKey: boolean;
  /** The statuses with which this API refuses a key. */
  refusals: number[];
  /** The model that the settings name. Undefined if the API does not list its models. */
  model?: { id: string; name: string };
}

/**
 * Sends only free requests to voice's providers: lists of voices and models, and the avatar catalogue. No speech is synthesized or
 * transcribed.
 */
export async function checkVoice({ env, units, patienceMs }: Installation): Promise<Outcome[]> {
  const isRead = settingsRead(units).some(({ setting }) => setting.name === tts.provider.name);
  const read = isRead ? usable(env, voiceProviders) : undefined;
  if (!read) return [];
  const outcomes = await Promise.all([
    checkSpeaker(read, patienceMs),
    checkListener(read, patienceMs),
    read.avatarVendor && notTried(avatarVendor.settings, read.avatarVendor.url, 'a session is opened', patienceMs),
    read.models.url === undefined ? undefined : checkCatalog(read.models.url, patienceMs),
  ]);
  return outcomes.filter((each) => each !== undefined);
}

type Read = ValuesOf<typeof voiceProviders>;

async function checkSpeaker({ tts: { provider, url, key, model } }: Read, patienceMs: number) {
  const names = { url: tts.url.name, key: tts.key.name };
  if (provider === 'openai' && url)
    return probe(openAi(names, url, key, { id: model, name: tts.model.name }), patienceMs);
  if (provider !== 'google') return undefined;
  const base = url ?? 'https://texttospeech.googleapis.com';
  const headers: Record<string, string> = key ? { 'x-goog-api-key': key } : {};
  const google = { url: `${base}/v1/voices`, headers, names, hasKey: key !== undefined, refusals: [400, 401, 403] };
  return probe(google, patienceMs);
}

async function checkListener({ stt: { provider, url, key, model } }: Read, patienceMs: number) {
  const names = { url: stt.url.name, key: stt.key.name };
  if (provider === 'openai' && url)
    return probe(openAi(names, url, key, { id: model, name: stt.model.name }), patienceMs);
  if (provider !== 'google') return undefined;
  return notTried({ url: stt.url, key: stt.key }, url ?? 'https://speech.googleapis.com', 'a clip is sent', patienceMs);
}

function openAi(
  names: Probe['names'],
  url: string,
  key: string | undefined,
  model: { id: string; name: string },
): Probe {
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  return { url: `${url}/models`, headers, names, hasKey: key !== undefined, refusals: [401, 403], model };
}

/** Only connects, because a request that tries the key would cost money. */
async function notTried(
  { url: { name }, key }: { url: { name: string }; key: { name: string } },
  url: string,
  when: string,
  patienceMs: number,
): Promise<Outcome> {
  const { host, port, at } = hostAndPort(url);
  try {
    await reach(host, port, patienceMs);
    const found = `${at} accepts connections; whether it accepts ${key.name} shows only when ${when}, which may cost something`;
    return ok('voice.not-tried', [name, key.name], found);
  } catch (error) {
    return unreached(name, at, error);
  }
}

async function probe({ url, headers, names, hasKey, refusals, model }: Probe, patienceMs: number): Promise<Outcome> {
  const { at } = hostAndPort(url);
  const settings = [names.url, names.key];
  try {
    const { status, body } = await get(url, headers, patienceMs);
    if (status === 200) {
      if (model && lacks(body, model.id)) {
        const found = `${at} does not list the model ${model.id}`;
        return warning('voice.model', [model.name], found, `Name one that it lists in ${model.name}.`);
      }
      return ok('voice.key', settings, hasKey ? `${at} accepts ${names.key}` : `${at} answers without a key`);
    }
    if (refusals.includes(status)) {
      const found = hasKey ? `${at} refuses ${names.key} (status ${status})` : `${at} wants a key (status ${status})`;
      return wrong('voice.key', [names.key], found, `Correct ${names.key}, and see what it is allowed to use.`);
    }
    if (status === 404 || status === 405) {
      const found = `${at} answers, but has no list by which ${names.key} could be tried: it shows when it is used`;
      return ok('voice.not-tried', settings, found);
    }
    return warning(
      'voice.failed',
      settings,
      `${at} answers with status ${status}`,
      `See its log, or correct ${names.url}.`,
    );
  } catch (error) {
    return unreached(names.url, at, error);
  }
}

const listShape = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Reports whether a response is a list of models without this model. */
function lacks(body: string, id: string): boolean {
  try {
    return !listShape.parse(JSON.parse(body)).data.some((each) => each.id === id);
  } catch {
    return false;
  }
}

async function checkCatalog(given: string, patienceMs: number): Promise<Outcome> {
  const url = catalogUrl(given);
  const { at } = hostAndPort(url);
  const { name } = models.url;
  try {
    const { status, body } = await get(url, {}, patienceMs);
    if (status !== 200) {
      return wrong(
        'voice.models',
        [name],
        `${url} answers with status ${status}`,
        `Put the catalogue there, or correct ${name}.`,
      );
    }
    try {
      return ok('voice.models', [name], `${url} lists ${readCatalog(body).length} models`);
    } catch (error) {
      const found = `${url} is no catalogue of models: ${reasonOf(error)}`;
      return wrong('voice.models', [name], found, `Correct the catalogue; the README of voice has its shape.`);
    }
  } catch (error) {
    return unreached(name, at, error);
  }
}

async function get(url: string, headers: Record<string, string>, patienceMs: number) {
  const answer = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(patienceMs) });
  if (answer.status !== 200 || !answer.body) {
    await answer.body?.cancel();
    return { status: answer.status, body: '' };
  }
  const body = await readWithin(answer.body, maxCatalogBytes, () => new Error('its answer is too large'));
  return { status: answer.status, body: body.toString() };
}

function unreached(name: string, at: string, error: unknown): Outcome {
  const problem = connectionProblem(error, at);
  if (problem) return warning(`voice.${problem.kind}`, [name], problem.found, problem.change);
  return warning('voice.unreachable', [name], `${at} cannot be asked: ${reasonOf(error)}`, `Correct ${name}.`);
}

/** The URL settings that this check covers. */
export const voiceUrls = listSettings(voiceProviders).flatMap(({ name, type }) => (type === 'URL' ? [name] : []));
