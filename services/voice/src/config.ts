import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { byteCount, oneOf, port, positiveInt, text } from '@parley/kernel/settings/setting-types';
import { optionalGroup, type Settings, setting } from '@parley/kernel/settings/settings';
import {
  avatarTokenKeysSetting,
  corsOriginsSetting,
  fetchedUrl,
  portSettings,
  trustedProxiesSetting,
} from '@parley/kernel/settings/shared-settings';

const baseUrl = fetchedUrl.transform((url) => url.replace(/\/$/u, ''));

export const voiceSettings = {
  port: setting('VOICE_PORT', port.default(4100), "Port of voice's HTTP server for clients. 0 takes any free port."),
  ...portSettings('voice', ['ops']),
  avatarTokenKeys: avatarTokenKeysSetting,
  corsOrigins: corsOriginsSetting,
  trustedProxies: trustedProxiesSetting,
  tts: {
    provider: setting(
      'TTS_PROVIDER',
      oneOf(['espeak', 'google', 'openai']).default('espeak'),
      'Text-to-speech provider. `espeak`: the built-in eSpeak NG. `google`: an API like that of Google Cloud Text-to-Speech. `openai`: an API like that of OpenAI.',
    ),
    url: setting(
      'TTS_URL',
      baseUrl.optional(),
      'Base URL of the text-to-speech API. Required with `TTS_PROVIDER=openai`, `/v1` included.',
      {
        without: '`https://texttospeech.googleapis.com` for `google`',
      },
    ),
    key: setting(
      'TTS_KEY',
      text.optional(),
      'API key of the text-to-speech API, sent as `X-Goog-Api-Key` with `TTS_PROVIDER=google`, else as bearer token.',
      {
        secret: true,
      },
    ),
    model: setting('TTS_MODEL', text.default('tts-1'), 'Text-to-speech model that is used with `TTS_PROVIDER=openai`.'),
  },
  stt: {
    provider: setting(
      'STT_PROVIDER',
      oneOf(['google', 'openai', 'whisper']).optional(),
      'Speech-to-text provider. `google`: an API like that of Google Cloud Speech-to-Text. `openai`: an API like that of OpenAI. `whisper`: Whisper on this machine.',
      { without: 'requests to `/stt` are answered 503' },
    ),
    url: setting(
      'STT_URL',
      baseUrl.optional(),
      'Base URL of the speech-to-text API. Required with `STT_PROVIDER=openai`, `/v1` included.',
      {
        without: '`https://speech.googleapis.com` for `google`',
      },
    ),
    key: setting(
      'STT_KEY',
      text.optional(),
      'API key of the speech-to-text API, sent as `X-Goog-Api-Key` with `STT_PROVIDER=google`, else as bearer token.',
      { secret: true },
    ),
    model: setting(
      'STT_MODEL',
      text.default('whisper-1'),
      'Speech-to-text model that is used with `STT_PROVIDER=openai`.',
    ),
  },
  whisper: {
    folder: setting(
      'VOICE_WHISPER_FOLDER',
      text.optional(),
      'Folder in which `scripts/ear` has installed Whisper. Required with `STT_PROVIDER=whisper`.',
      { without: 'Whisper cannot be used' },
    ),
    processes: setting(
      'VOICE_WHISPER_PROCESSES',
      positiveInt.default(1),
      'Maximum number of Whisper processes. Each transcribes one clip, with two threads and about 300 MB of memory.',
    ),
  },
  avatarVendor: optionalGroup('AVATAR_VENDOR_URL', {
    url: setting(
      'AVATAR_VENDOR_URL',
      baseUrl,
      'Base URL of the vendor of hosted video avatars. Session tokens are requested at `/v1/auth/session-token` below this URL.',
      { without: 'requests to `/avatar-session` are answered 500' },
    ),
    key: setting('AVATAR_VENDOR_KEY', text, 'API key of the vendor at `AVATAR_VENDOR_URL`, sent as bearer token.', {
      secret: true,
    }),
  }),
  models: {
    folder: setting(
      'VOICE_MODELS_FOLDER',
      text.optional(),
      'Folder with 3D models (`<id>.glb`) and their list, a `models.json` of the form `[{"id", "label", "gender"}]`. Read at start.',
      { without: 'three plain heads of our own, unless `VOICE_MODELS_URL` is set' },
    ),
    url: setting(
      'VOICE_MODELS_URL',
      fetchedUrl.refine((url) => !/[?#]/u.test(url), 'has a query or fragment').optional(),
      'URL of a folder like `VOICE_MODELS_FOLDER` on a web server, or of the `.json` file in that folder. Redirects are not followed. Cannot be combined with `VOICE_MODELS_FOLDER`.',
      { without: '`VOICE_MODELS_FOLDER`' },
    ),
    keptMs: setting(
      'VOICE_MODELS_KEPT_MS',
      positiveInt.default(300_000),
      'Time for which the list and files of `VOICE_MODELS_URL` are used before the web server is asked for changes.',
    ),
    maxBytes: setting(
      'VOICE_MODELS_CACHE_BYTES',
      byteCount.default(268_435_456),
      'Maximum size of all cached files of `VOICE_MODELS_URL` in the temporary folder. A file that is larger than the cache is unavailable. The value must be below `tmpSize` of the chart.',
    ),
  },
  providerTimeoutMs: setting(
    'VOICE_PROVIDER_TIMEOUT_MS',
    positiveInt.default(30_000),
    'Maximum time of one request to a speech provider, the avatar vendor or `VOICE_MODELS_URL`, and of one transcription by Whisper. Also the maximum processor time of eSpeak NG for one text.',
  ),
  maxAnswerBytes: setting(
    'VOICE_MAX_ANSWER_BYTES',
    byteCount.default(16_777_216),
    'Maximum size of one answer of a speech provider or the avatar vendor, and of the audio that eSpeak NG makes for one answer or one piece of a stream.',
  ),
  calls: {
    inFlight: setting(
      'VOICE_CALLS_AT_ONCE',
      positiveInt.default(64),
      'Maximum number of concurrent calls of one process to each remote provider: text-to-speech, speech-to-text, avatar vendor. Further calls wait in a queue that is fair by tenant.',
    ),
    perTenant: setting(
      'VOICE_CALLS_PER_TENANT',
      positiveInt.default(16),
      'Maximum number of concurrent calls of one tenant in one process to each remote provider: text-to-speech, speech-to-text, avatar vendor. Further calls of the tenant wait.',
    ),
    waitingPerTenant: setting(
      'VOICE_WAITING_PER_TENANT',
      positiveInt.default(100),
      'Maximum number of calls of one tenant that wait for one provider in one process. A further call is refused with `TOO_MANY_REQUESTS`.',
    ),
  },
  speechProcesses: setting(
    'VOICE_ESPEAK_PROCESSES',
    positiveInt.default(2),
    'Maximum number of eSpeak NG processes. Each speaks one text at a time and takes up to 640 MB of memory.',
  ),
  maxBodiesBytes: setting(
    'VOICE_MAX_BODIES_BYTES',
    byteCount.default(134_217_728),
    'Maximum memory of one process for request bodies, answers of providers and audio, until the client has received its answer. Above this limit, requests are refused with 503. One tenant or address may use a quarter; more is refused with 429.',
  ),
  requestTimeoutMs: setting(
    'VOICE_REQUEST_TIMEOUT_MS',
    positiveInt.default(30_000),
    'Maximum time for a client to send a request; a slower request is refused with HTTP 408.',
  ),
  stallTimeoutMs: setting(
    'VOICE_STALL_TIMEOUT_MS',
    positiveInt.default(180_000),
    'Maximum time that a client may read nothing of an answer or 3D model. Then the connection is closed.',
  ),
  answerTimeoutMs: setting(
    'VOICE_ANSWER_TIMEOUT_MS',
    positiveInt.default(1_800_000),
    'Maximum time of a `POST` in all, until the client has read its answer or stream. Then the connection is closed.',
  ),
  maxConnections: setting(
    'VOICE_MAX_CONNECTIONS',
    positiveInt.default(5_000),
    'Maximum number of client connections of one process. Further connections are closed at once.',
  ),
} satisfies Settings;

export type VoiceConfig = ReturnType<typeof readVoiceConfig>;

/** Reads the settings. @throws SettingsError for invalid settings, also if a provider has no URL */
export function readVoiceConfig(env: Environment) {
  const read = readSettings(env, voiceSettings);
  const problems = [
    ...(read.tts.provider === 'openai' && !read.tts.url ? ['TTS_URL: is required with TTS_PROVIDER=openai'] : []),
    ...(read.stt.provider === 'openai' && !read.stt.url ? ['STT_URL: is required with STT_PROVIDER=openai'] : []),
    ...(read.stt.provider === 'whisper' && !read.whisper.folder
      ? ['VOICE_WHISPER_FOLDER: is required with STT_PROVIDER=whisper']
      : []),
    ...(read.models.url && read.models.folder ? ['VOICE_MODELS_URL: is set beside VOICE_MODELS_FOLDER; take one'] : []),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  return read;
}
