import { defineUnit } from '@parley/unit/define-unit';
import { folderModels } from './avatar-models.ts';
import type { VoiceConfig } from './config.ts';
import { voiceDeclaration } from './declaration.ts';
import { tryPage } from './http/try-page.ts';
import { voiceServer } from './http/voice-server.ts';
import type { Ports } from './ports.ts';
import { providerWork } from './provider-work.ts';
import { avatarVendor } from './providers/avatar-vendor.ts';
import { checkedSpeaker } from './providers/checked-speaker.ts';
import { espeakSpeaker } from './providers/espeak-speaker.ts';
import { googleListener, googleSpeaker } from './providers/google-speech.ts';
import { openAiListener, openAiSpeaker } from './providers/openai-speech.ts';
import { providerCall } from './providers/provider-call.ts';
import { whisperListener } from './providers/whisper-listener.ts';
import { remoteModels } from './remote-models.ts';

export const voice = defineUnit(voiceDeclaration, {
  dependencies({ config, metrics, log }): Ports & { espeak: ReturnType<typeof espeakSpeaker> } {
    const { providerTimeoutMs: timeoutMs, maxAnswerBytes: maxBytes } = config;
    const espeak = espeakSpeaker({ timeoutMs, maxBytes });
    return {
      espeak,
      speak: checkedSpeaker(speakerOf(config) ?? espeak.speak),
      listen: listenerOf(config),
      openVendorSession:
        config.avatarVendor &&
        avatarVendor(config.avatarVendor, providerCall('avatar vendor', { timeoutMs, maxBytes })),
      models: config.models.url
        ? remoteModels({ ...config.models, url: config.models.url, timeoutMs, metrics, log })
        : folderModels(config.models.folder),
      page: tryPage(),
      provide: providerWork(callLimits(config), metrics),
      log,
    };
  },
  parts: ({ models, page, espeak }) => [models, page, espeak],
  servers: (ports, given) => [voiceServer(ports, given)],
});

/** Maximum concurrent calls. The settings limit the calls of a remote provider; a local engine has one call per process. */
function callLimits({ calls, tts, stt, speechProcesses, whisper }: VoiceConfig) {
  const limits = (inFlight: number, perTenant: number) => ({
    inFlight,
    shares: { tenant: { inFlight: perTenant, waiting: calls.waitingPerTenant } },
  });
  const elsewhere = limits(calls.inFlight, calls.perTenant);
  /** Limits of a local engine. If there are several processes, one tenant cannot use all of them. */
  const here = (processes: number) => limits(processes, Math.max(1, processes - 1));
  return {
    tts: tts.provider === 'espeak' ? here(speechProcesses) : elsewhere,
    stt: stt.provider === 'whisper' ? here(whisper.processes) : elsewhere,
    avatar: elsewhere,
  };
}

function speakerOf({ tts, providerTimeoutMs: timeoutMs, maxAnswerBytes }: VoiceConfig) {
  const call = providerCall('speech provider', { timeoutMs, maxBytes: maxAnswerBytes });
  if (tts.provider === 'google') return googleSpeaker({ ...tts, call });
  if (tts.provider === 'openai') return openAiSpeaker({ ...tts, url: tts.url ?? '', call });
  return undefined;
}

function listenerOf({ stt, whisper, providerTimeoutMs: timeoutMs, maxAnswerBytes: maxBytes }: VoiceConfig) {
  const call = providerCall('speech provider', { timeoutMs, maxBytes });
  if (stt.provider === 'google') return googleListener({ ...stt, call });
  if (stt.provider === 'openai') return openAiListener({ ...stt, url: stt.url ?? '', call });
  if (stt.provider === 'whisper') return whisperListener({ folder: whisper.folder ?? '', timeoutMs });
  return undefined;
}
