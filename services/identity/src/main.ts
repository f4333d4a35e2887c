import { runService } from '@parley/service/run-service';
import { identity } from './service.ts';

await runService(identity);
