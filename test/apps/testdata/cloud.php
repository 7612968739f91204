<?php
// Files of several people as Nextcloud has them: sabre/dav behind remote.php/dav, with a page in
// browsers. Each person has a folder, under the same address.
error_reporting(E_ALL & ~E_DEPRECATED);
ini_set('display_errors', '0');
date_default_timezone_set('UTC');
require_once 'Sabre/autoload.php';

class People extends \Sabre\DAV\Auth\Backend\AbstractBasic {
	protected function validateUserPass($user, $password) {
		return in_array($user, ['ada', 'bob', 'cleo'], true) && $password === 'secret';
	}
}

$files = __DIR__ . '/../files';
$user = basename($_SERVER['PHP_AUTH_USER'] ?? 'nobody');
@mkdir("$files/$user", 0777, true);
@mkdir("$files/tmp", 0777, true);
$server = new \Sabre\DAV\Server(new \Sabre\DAV\FSExt\Directory("$files/$user"));
$server->setBaseUri('/remote.php/dav/');
$server->addPlugin(new \Sabre\DAV\Auth\Plugin(new People(), 'cloud'));
$server->addPlugin(new \Sabre\DAV\Locks\Plugin(new \Sabre\DAV\Locks\Backend\File("$files/tmp/locks-$user")));
$server->addPlugin(new \Sabre\DAV\Browser\Plugin());
$server->addPlugin(new \Sabre\DAV\Browser\GuessContentType());
$server->exec();
