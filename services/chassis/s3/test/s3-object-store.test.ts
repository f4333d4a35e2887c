import { objectStoreContract } from '@parley/testing/object-store-contract';
import { connectS3, s3Tests } from '@parley/testing/object-stores';
import test from 'ava';

s3Tests('the object store on S3', () => {
  objectStoreContract(test, 'S3', connectS3);
});
