import { runService } from '@parley/service/run-service';
import { parser } from './service.ts';

await runService(parser);
