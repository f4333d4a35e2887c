# The jars of Kafka by Maven. New brokers begin with a copy of `template`: formatting a folder takes a Java of its own.
. "$SCRIPTS/java.sh"
mvn -v >/dev/null || unavailable 'there is no Maven (mvn)'
mvn -q -B -f "$SCRIPTS/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DoutputDirectory="$TARGET" -DincludeScope=runtime -Dmaven.repo.local="$PWD/repository"
{
  cat "$SCRIPTS/server.properties"
  echo 'log.dirs=template'
  addresses 1 2
} >format.properties
rm -rf template
java $options -cp "$(class_path "$TARGET")" kafka.tools.StorageTool format -t parley-on-a-machine-00 -c format.properties >format.log
mv template "$TARGET"
