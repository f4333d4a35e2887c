import { isAudio } from '../audio/is-audio.ts';
import type { Speaker } from '../speech.ts';
import { unreadable } from './provider-call.ts';

/** Wraps a speaker and passes only valid audio on; any other answer of the provider is an error. */
export function checkedSpeaker(speak: Speaker): Speaker {
  return async (request, asking) => {
    const speech = await speak(request, asking);
    if (!isAudio(speech.audio, request.audioEncoding))
      throw unreadable('speech provider', new Error(`the answer is no ${request.audioEncoding}`));
    return speech;
  };
}
